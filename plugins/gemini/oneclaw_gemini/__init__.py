"""Google's Gemini models for OneClaw."""
