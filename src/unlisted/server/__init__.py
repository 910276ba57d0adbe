"""The service: many analysts, one data set, one shared budget, answers over HTTP and in a browser.

config         unlisted.toml
auth           who may ask
planning       a question as it comes over the wire, and its plan
query_service  what a caller may do: the one place where that is decided, for the API and the console alike
executor       questions in threads: a time limit, a fixed time of answer, an end when nobody waits any more
api            API v1
console        the analysts' pages
app            all of it as one ASGI application
"""
