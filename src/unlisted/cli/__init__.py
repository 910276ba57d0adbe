"""The command line: one verb a file, each a thin layer over the library.

Exit codes: 0 done; 1 an audit or a verification found a violation; 2 bad usage or input; 3 the budget refused;
4 failed or stopped after data was touched, and charged where an account pays.
"""
