"""Single sign-on: people who come with a token of the company's own OpenID provider in the place of a key."""
