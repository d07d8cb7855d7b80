# Completions of farroot, from the farroot that is on PATH: those of its own verbs and options.
farroot completions fish 2> /dev/null | source
