"""One run: a recipe and a seed in, a trained model and a result out."""
