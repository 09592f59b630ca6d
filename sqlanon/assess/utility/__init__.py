"""What a release is still good for: its columns, their association, counts and predictions, before and after."""
