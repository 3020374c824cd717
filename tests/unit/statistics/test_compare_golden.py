"""Published figures, to their printed digits.

Raw data and R output: "mm: multigenerational LRU: Apache Spark", Linux kernel mailing list,
2021-11-01: wall times (s) of a sort, ten runs each of two kernels, two memory conditions (heap of
52 and 62 GB of 64) and three concurrencies (tasks on 32 CPUs).
"""

from __future__ import annotations

import math
import re
import statistics

import pytest
from tests.support import needs

from pyrometer.statistics.factorial import Cell, factorial
from pyrometer.statistics.power import needed
from pyrometer.statistics.treatments import Trial, analyse
from pyrometer.statistics.welch import welch, welch_as_given

RUNS = {
    ("baseline", 52, 32): [1034, 1036, 1036, 1037, 1037, 1037, 1038, 1038, 1038, 1040],
    ("baseline", 52, 64): [1139, 1139, 1140, 1140, 1142, 1143, 1143, 1144, 1144, 1144],
    ("baseline", 52, 96): [1236, 1237, 1238, 1238, 1238, 1239, 1240, 1241, 1243, 1243],
    ("baseline", 62, 32): [1036, 1036, 1038, 1038, 1038, 1038, 1039, 1039, 1040, 1040],
    ("baseline", 62, 64): [1266, 1277, 1284, 1296, 1299, 1302, 1311, 1313, 1314, 1317],
    ("baseline", 62, 96): [1403, 1431, 1440, 1447, 1460, 1461, 1467, 1475, 1487, 1497],
    ("patched", 52, 32): [1035, 1036, 1036, 1037, 1037, 1037, 1037, 1038, 1038, 1039],
    ("patched", 52, 64): [1138, 1140, 1140, 1143, 1143, 1143, 1144, 1145, 1145, 1145],
    ("patched", 52, 96): [1228, 1228, 1233, 1234, 1235, 1236, 1236, 1240, 1246, 1248],
    ("patched", 62, 32): [1032, 1035, 1035, 1035, 1036, 1036, 1037, 1039, 1040, 1041],
    ("patched", 62, 64): [1162, 1164, 1164, 1164, 1164, 1164, 1166, 1166, 1168, 1169],
    ("patched", 62, 96): [1252, 1256, 1256, 1258, 1260, 1260, 1260, 1260, 1265, 1265],
}

# First and second group; t, df, p and interval of the first less the second, as R prints them; and
# the interval of what the second takes less (negative: more) in per cent of the first, if it
# excludes 0.
PUBLISHED = [
    ("baseline", 52, 32, "patched", 52, 32, 0.16059, 16.4, 0.8744, -1.21749, 1.41749, None),
    ("baseline", 52, 64, "patched", 52, 64, -0.78279, 17.565, 0.4442, -2.950923, 1.350923, None),
    ("baseline", 52, 96, "patched", 52, 96, 1.2933, 11.303, 0.2217, -2.019103, 7.819103, None),
    ("baseline", 62, 32, "patched", 62, 32, 1.6562, 13.458, 0.1208, -0.4799188, 3.6799188, None),
    ("baseline", 62, 64, "patched", 62, 64, 24.096, 9.2733, 1.115e-09, 120.3881, 145.2119,
     (9.28, 11.19)),
    ("baseline", 62, 96, "patched", 62, 96, 22.289, 9.3728, 1.944e-09, 177.6666, 217.5334,
     (12.20, 14.93)),
    ("baseline", 52, 32, "baseline", 62, 32, -1.6398, 17.697, 0.1187, -2.5110734, 0.3110734, None),
    ("baseline", 52, 64, "baseline", 62, 64, -28.33, 9.2646, 2.57e-10, -168.5106, -143.6894,
     (-14.76, -12.58)),
    ("baseline", 52, 96, "baseline", 62, 96, -24.694, 9.1353, 1.12e-09, -237.3794, -197.6206,
     (-19.15, -15.95)),
    ("patched", 52, 32, "patched", 62, 32, 0.42857, 12.15, 0.6757, -1.630775, 2.430775, None),
    ("patched", 52, 64, "patched", 62, 64, -21.865, 17.646, 3.151e-14, -24.66501, -20.33499,
     (-2.16, -1.78)),
    ("patched", 52, 96, "patched", 62, 96, -9.2738, 14.72, 1.561e-07, -28.04897, -17.55103,
     (-2.27, -1.42)),
]  # fmt: skip


def rounded(value: float, printed: float) -> float:
    """Round as many digits as R printed, without trailing zeros."""
    text = repr(printed)
    if "e" in text:
        return float(f"{value:.{len(text.split('e')[0].replace('.', '')) - 1}e}")
    return round(value, len(text.split(".")[1]))


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: "-".join(map(str, row[:6])))
def test_a_published_study_of_memory_reclaim(row):
    t, df, p, low, high, percent = row[6:]
    trials = [Trial(str(key), value) for key in (row[:3], row[3:6]) for value in RUNS[key]]
    found = analyse(trials, what="wall time", unit="as given", margin=0.02).pairs[0].welch
    assert found is not None
    assert found.reason is None
    assert rounded(found.t, t) == t
    assert rounded(found.df, df) == df
    assert rounded(found.p, p) == p
    assert tuple(map(rounded, found.interval, (low, high))) == (low, high)
    assert found.interval[0] < found.difference < found.interval[1]
    if percent is None:
        assert found.percent_of_a[0] < 0 < found.percent_of_a[1]
    else:
        assert tuple(round(end, 2) for end in found.percent_of_a) == percent


# Data sets that come with R, and what its `t.test` prints of them.
SLEEP = (
    [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
    [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
)
MILES_BY_TRANSMISSION = (
    [21.4, 18.7, 18.1, 14.3, 24.4, 22.8, 19.2, 17.8, 16.4, 17.3, 15.2, 10.4, 10.4, 14.7, 21.5,
     15.5, 15.2, 13.3, 19.2],
    [21.0, 21.0, 22.8, 32.4, 30.4, 33.9, 27.3, 26.0, 30.4, 15.8, 19.7, 15.0, 21.4],
)  # fmt: skip


@pytest.mark.parametrize(
    ("lists", "printed"),
    [
        (SLEEP, (-1.8608, 17.776, 0.07939, -3.3654832, 0.2054832)),
        (MILES_BY_TRANSMISSION, (-3.7671, 18.332, 0.001374, -11.280194, -3.209684)),
    ],
)
def test_examples_of_r(lists, printed):
    found = welch_as_given(*lists)
    assert tuple(map(rounded, (found.t, found.df, found.p, *found.interval), printed)) == printed
    means = [statistics.fmean(one) for one in lists]
    assert found.difference == pytest.approx(means[0] - means[1])
    assert found.difference_percent_of_a == pytest.approx(100 * (1 - means[1] / means[0]))


def test_welch_says_why_there_is_none():
    alone = welch_as_given([3.0], [1.0, 2.0])
    assert (alone.difference, alone.t, alone.interval) == (1.5, None, None)
    assert alone.reason == "fewer than two values"
    # R: "data are essentially constant"; the second differs by rounding alone.
    for other in ([2.0, 2.0], [2.0, 2.0 + 4e-16]):
        flat = welch_as_given([3.0, 3.0], other)
        assert (flat.t, flat.p, flat.percent_of_a) == (None, None, None)
        assert flat.reason == "the values do not vary"
    # One list may be constant.
    assert welch_as_given([3.0, 3.0, 3.0], [1.0, 2.0, 1.5]).df == pytest.approx(2)


# Runs of each treatment that Welch's test needs for a power of 0.8, by coefficient of variation
# and true difference.
NEEDED = {
    (0.01, 0.05): [17, 6, 3, 2, 2],
    (0.02, 0.05): [64, 17, 4, 3, 2],
    (0.03, 0.05): [143, 37, 7, 3, 3],
    (0.05, 0.05): [394, 100, 17, 6, 4],
    (0.10, 0.05): [1571, 394, 64, 17, 9],
    (0.03, 0.05 / 12): [250, 64, 13, 5, 4],
    (0.05, 0.05 / 12): [690, 174, 30, 10, 6],
}


@pytest.mark.parametrize(("how", "runs"), NEEDED.items())
def test_runs_that_are_needed(how, runs):
    sd, alpha = how
    assert [needed(d, sd, alpha) for d in (0.01, 0.02, 0.05, 0.10, 0.15)] == runs


def test_what_is_seen_without_noise():
    assert needed(0.05, 0.0) == 2
    assert needed(0.05, None) is None
    assert math.isclose(welch([1, 1], [1, 1]).p, 1)


def corpus(name):
    return needs.corpus() / "measurements" / "cern" / name


def test_five_builds_of_the_jdk_on_one_scan():
    """Three runs of each of five JDKs, three iterations a run, in the same order every time."""
    first, trials = {}, []
    for number in (1, 2, 3):
        text = corpus(f"test_spark350_20231124_{number}.txt").read_text()
        for part in text.split("Testing with: ")[1:]:
            name = part.split()[0].removeprefix("JDK/")
            times = [float(x) for x in re.findall(r"\(elapsed time\) = ([\d.]+) sec", part)]
            first.setdefault(name, []).append(times[0] / statistics.fmean(times[1:]))
            trials.append(Trial(name, statistics.fmean(times[1:])))
    made = analyse(trials, what="scan", unit="s", margin=0.02)
    assert len(made.treatments) == 5
    assert {one.mean.n for one in made.treatments} == {3}
    verdicts = {(pair.a, pair.b): pair for pair in made.pairs}
    seventeen = [one.name for one in made.treatments if one.name.startswith("jdk-17")]
    eight = next(one.name for one in made.treatments if "8u" in one.name)
    assert len(seventeen) == 2
    assert verdicts[tuple(seventeen)].verdict == "cannot tell"
    assert verdicts[eight, seventeen[0]].verdict == "faster"
    assert "order_fixed" in [doubt.code for doubt in made.doubts]
    # The first iteration of a JVM takes so much longer than the others.
    assert {name: round(statistics.fmean(ratios), 2) for name, ratios in first.items()} == {
        "jdk8u392-b08": 1.07,
        "jdk-11.0.21+9": 1.12,
        "jdk-17.0.9+9": 1.13,
        "jdk-17.0.9": 1.12,
        "graalvm-jdk-17.0.9+11.1": 1.33,
    }


# Three blocks of heap (1g, 2g, 4g) by codec (none, zstd, lz4); two trials are missing.
MATRIX = [
    [10.2, 11.9, 10.9, 9.4, None, 11.1, 10.6, 12.2, 11.4],
    [10.1, 11.5, 10.7, 9.9, 12.9, 11.6, 10.0, None, 11.0],
    [10.4, 11.7, 11.2, 9.6, 12.4, 11.9, 10.3, 12.6, 11.1],
]
# statsmodels 0.15.0: `anova_lm(ols("log(v) ~ C(block) + C(heap) * C(codec)").fit(), typ=2)` with
# deviation coding, and `multipletests(p, method="holm")`: degrees of freedom, F, p, adjusted p.
ANOVA = {
    ("heap",): (2, 2.6252131863476302, 0.10760037342916877, 0.10760037342916877),
    ("codec",): (2, 115.14314433465756, 2.030498201167289e-09, 6.091494603501867e-09),
    ("heap", "codec"): (4, 6.6689338702975975, 0.003199002885616334, 0.006398005771232668),
}


def test_a_matrix_with_gaps_as_statsmodels_analyses_it():
    treatments = [(heap, codec) for heap in ("1g", "2g", "4g") for codec in ("none", "zstd", "lz4")]
    cells = [
        Cell({"heap": heap, "codec": codec}, value, str(block))
        for block, row in enumerate(MATRIX)
        for (heap, codec), value in zip(treatments, row, strict=True)
        if value is not None
    ]
    found = factorial(cells)
    assert found.freedom == 14
    assert found.noise_sd == pytest.approx(0.02526590875961921, rel=1e-9)
    effects = {tuple(one.factors): one for one in found.effects}
    assert effects.keys() == ANOVA.keys()
    for factors, (freedom, f, p, adjusted_p) in ANOVA.items():
        one = effects[factors]
        assert one.freedom == freedom
        assert (one.f, one.p, one.adjusted_p) == pytest.approx((f, p, adjusted_p), rel=1e-9)
