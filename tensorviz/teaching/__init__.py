"""Teaching with a record: the bug zoo, quizzes, exercises. Imports the parts that read or run a record; loads no widget by itself."""
