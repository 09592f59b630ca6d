"""Apache Spark, through PySpark."""
