"""Statistics of comparisons: lists of times, one value a trial. Pure functions, no tables.

The unit is the trial: iterations of one JVM are not independent and are summed up before they come
here. Times are compared by the ratio of their geometric means, whose interval is that of the
difference of mean logarithms: it is symmetric between the sides and positive.
"""
