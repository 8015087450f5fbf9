'''Teaching with a record: the bug zoo, quizzes, exercises, and how they are graded. Loads no widget by itself.

* ``trace.with_bug("overwrite")``: the same graph with one classic mistake in the backward pass (:mod:`tensorviz.teaching.zoo`).
* ``trace.quiz()``: predict, then reveal (:mod:`tensorviz.teaching.quiz`).
* ``tv.exercise("relu")``: a student's function, checked on hidden shapes (:mod:`tensorviz.teaching.exercise`).

Each says what it thinks as a :class:`~tensorviz.teaching.feedback.Feedback`, which is true where the answer is right and prints
as a sentence with a hint, so that one ``assert said, str(said)`` is a test in any grader. Nothing has to be installed beside the
grader; nothing is sent anywhere, and what is asked follows from the seed alone.

nbgrader
--------
A cell that is graded automatically holds asserts; what stands between the marks is kept from the students, and here is the same
check with numbers of another seed::

    said = tv.exercise("relu").check(rule)
    assert said, str(said)
    ### BEGIN HIDDEN TESTS
    said = tv.exercise("relu").check(rule, seed=7)
    assert said, str(said)
    ### END HIDDEN TESTS

A quiz is asked in one cell (``quiz = trace.quiz(3, seed=5)``, and ``quiz`` as its last line shows the widget), and its answers are
collected in a list. A graded cell that ends in a number between 0 and its points gives partial credit, one point a question::

    trace.quiz(3, seed=5).grade(answers)

Otter
-----
``grader.check("relu")`` reads ``tests/relu.py``, whose cases are doctests. A case fails with the sentence as its message::

    OK_FORMAT = True

    test = {
        "name": "relu",
        "points": [1, 1],
        "suites": [
            {
                "type": "doctest",
                "scored": True,
                "setup": "",
                "teardown": "",
                "cases": [
                    {
                        "code": r"""
                        >>> said = tv.exercise("relu").check(rule)
                        >>> assert said, str(said)
                        """,
                        "hidden": False,
                        "locked": False,
                    },
                    {
                        "code": r"""
                        >>> said = tv.exercise("relu").check(rule, seed=7)
                        >>> assert said, str(said)
                        """,
                        "hidden": True,
                        "locked": False,
                    },
                ],
            }
        ],
    }

A quiz has one case a question::

    >>> quiz = trace.quiz(3, seed=5)
    >>> said = quiz[0].answer(answers[0])
    >>> assert said, str(said)
'''
