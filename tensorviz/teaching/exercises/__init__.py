"""The built-in exercises, by name. Imports their families."""

from __future__ import annotations

from tensorviz.teaching.exercise import Exercise
from tensorviz.teaching.exercises.arithmetic import ARITHMETIC
from tensorviz.teaching.exercises.axes import AXES
from tensorviz.teaching.exercises.choosing import CHOOSING
from tensorviz.teaching.exercises.differences import DIFFERENCES
from tensorviz.teaching.exercises.layers import LAYERS
from tensorviz.teaching.exercises.losses import LOSSES
from tensorviz.teaching.exercises.scalar_engine import ENGINE
from tensorviz.teaching.exercises.shapes import SHAPES

EXERCISES: dict[str, Exercise] = {e.name: e for e in (*SHAPES, *ARITHMETIC, *AXES, *CHOOSING, *LAYERS, *LOSSES, *DIFFERENCES, ENGINE)}
