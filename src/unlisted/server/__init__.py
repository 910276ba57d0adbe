"""The service: many analysts, one data set, one shared budget, answers over HTTP and in a browser.

config      unlisted.toml
keys        who may ask
questions   a question as it comes over the wire
desk        what a caller may do: the one place where that is decided, for the API and the console alike
workers     questions in threads: a time limit, a fixed time of answer, an end when nobody waits any more
fixed_time  the end of a question, held back until its time
app         all of it as one ASGI application
"""
