"""The analysis of docs/method.md, implemented a second time with scikit-learn and numpy in float64."""

import numpy as np
from sklearn.decomposition import PCA

SIGN_SWITCH = 0.05
HIGH, LOW = 0.7, 0.3
CLASSES = ["position-dominated", "q-positional", "k-positional", "content-focused", "mixed"]


def correlation(x, t):
    x, t = x - x.mean(), t - t.mean()
    return float(x @ t / np.sqrt((x @ x) * (t @ t)))


def analyze_head(q, q_t, k, k_t, components=10, solver="full"):
    """Explained variance, r_q, r_k of each component; eigenvalues of all, to see which are separated.
    The solver "covariance_eigh" is as exact at these tolerances and many times faster on tens of thousands of vectors."""
    q, k = np.asarray(q, np.float64), np.asarray(k, np.float64)
    pca = PCA(svd_solver=solver).fit(np.concatenate([q, k]))
    rows = []
    for c in range(min(components, q.shape[1])):
        axis = pca.components_[c]
        r_q = correlation((q - pca.mean_) @ axis, q_t.astype(np.float64))
        r_k = correlation((k - pca.mean_) @ axis, k_t.astype(np.float64))
        decides = r_q if abs(r_q) >= SIGN_SWITCH else r_k
        sign = -1 if decides < 0 else 1
        rows.append((pca.explained_variance_ratio_[c], sign * r_q, sign * r_k))
    return np.array(rows), pca.explained_variance_


def separated(eigenvalues, c, share=0.01):
    """Whether component c differs from its neighbours by more than `share` of itself."""
    neighbours = [eigenvalues[i] for i in (c - 1, c + 1) if 0 <= i < len(eigenvalues)]
    return all(abs(eigenvalues[c] - other) > share * eigenvalues[c] for other in neighbours)


def classify(r_q, r_k):
    k = abs(r_k)
    if r_q > HIGH and k > HIGH:
        return CLASSES[0]
    if r_q > HIGH and k < LOW:
        return CLASSES[1]
    if r_q < LOW and k > HIGH:
        return CLASSES[2]
    if r_q < LOW and k < LOW:
        return CLASSES[3]
    return CLASSES[4]


def near_decision(r_q, r_k, tolerance=1e-4):
    """Whether rounding may change this head's class or sign."""
    thresholds = [abs(r_q - HIGH), abs(r_q - LOW), abs(abs(r_k) - HIGH), abs(abs(r_k) - LOW), abs(abs(r_q) - SIGN_SWITCH)]
    return min(thresholds) <= tolerance


def depth_bin(layer, last):
    return 0 if last == 0 else max(-(-10 * layer // last) - 1, 0)


def compare_table(table, heads, tolerance=1e-4):
    """Checks qk.csv's rows (a DataFrame) against {(layer, head): analyze_head(...)}: r within `tolerance`, explained
    variance within it relatively, for components separated from their neighbours; the class of PC0. Returns the
    components so near a threshold or the sign switch that rounding may decide them."""
    assert {(row.layer, row.q_head) for row in table.itertuples()} == set(heads)
    near = []
    for row in table.rename(columns={"class": "head_class"}).itertuples():
        rows, eigenvalues = heads[row.layer, row.q_head]
        if not separated(eigenvalues, row.pc):
            continue
        variance, r_q, r_k = rows[row.pc]
        undecided = near_decision(r_q, r_k, tolerance)
        if undecided:
            near.append((row.layer, row.q_head, row.pc))
        sign = -1 if undecided and row.r_q * r_q + row.r_k * r_k < 0 else 1
        where = f"layer {row.layer} head {row.q_head} pc {row.pc}"
        assert abs(row.explained_variance / variance - 1) <= tolerance, where
        assert abs(sign * row.r_q - r_q) <= tolerance, where
        assert abs(sign * row.r_k - r_k) <= tolerance, where
        if row.pc == 0 and not undecided:
            assert row.head_class == classify(r_q, r_k), where
    return near
