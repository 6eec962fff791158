"""The author's side: from an exercise file to three notebooks. Never used at learning time."""
