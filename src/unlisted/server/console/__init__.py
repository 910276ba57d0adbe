"""The analyst's console: pages made on the server, which work without JavaScript.

`app` puts the pages together, to be mounted at /console. A page gets a `Visit` (`visits`, with `sessions` for
cookies) and becomes HTML by a template (`rendering`), in which labels are escaped and charts are SVG (`charts`).
"""
