"""What may be asked, as methods: each question with every option as a parameter."""
