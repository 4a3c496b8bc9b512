"""The subcommands of ``roofline``, one module each: options in, calls of the analysis, text and files out."""
