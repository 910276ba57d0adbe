"""The analyst's console: pages made on the server, which work without JavaScript.

`app` puts the pages together, to be mounted at /console; each page is a file of its own. A page gets a `Visit`
(`visits`, with `sessions` for cookies and `forms` for what was sent) and becomes HTML by a template
(`rendering`), in which labels are `hostile_text` and charts are `pictures`.
"""
