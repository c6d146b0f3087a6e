"""Skills for OneClaw: Markdown files with instructions that the model loads on demand."""
