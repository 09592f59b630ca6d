"""Pattern-guided k-anonymity (Bredereck, Nichterlein, Niedermeier 2013): each record keeps or suppresses columns as one
of the patterns that the user allows says."""
