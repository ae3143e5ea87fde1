"""Every column of heads.csv, computed a second time with numpy and scikit-learn in float64 from the vectors."""

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import LeaveOneGroupOut

import analysis_reference


def moments(x, t):
    centred, times = x - x.mean(0), t - t.mean()
    return x.mean(0), centred.T @ centred / len(x), centred.T @ times / len(x), times @ times / len(x)


def top(matrix):
    values, vectors = np.linalg.eigh(matrix)
    return values[-1], vectors[:, -1]


def cross_validated(x, t, groups):
    if len(set(groups)) < 2:
        return np.nan
    error = plain = 0.0
    for train, test in LeaveOneGroupOut().split(x, t, groups):
        fit = LinearRegression().fit(x[train], t[train])
        error += ((t[test] - fit.predict(x[test])) ** 2).sum()
        plain += ((t[test] - t[train].mean()) ** 2).sum()
    return 1 - error / plain


def rank90(values):
    sums = np.cumsum(values)
    whole = int((sums < 0.9 * sums[-1]).sum())
    return whole + (0.9 * sums[-1] - (sums[whole] - values[whole])) / values[whole]


def head(q, q_t, q_group, k, k_t, k_group, scale, context, like=None):
    """All numbers of a head, and its axes; `like` gives axes whose signs replicates follow."""
    (mq, sq, cq, vq), (mk, sk, ck, vk) = moments(q, q_t), moments(k, k_t)
    wq = len(q) / (len(q) + len(k))
    wk = 1 - wq
    delta = mq - mk
    within = wq * sq + wk * sk
    pool = within + wq * wk * np.outer(delta, delta)
    values, vectors = np.linalg.eigh(pool)
    values, vectors = values[::-1], vectors[:, ::-1]
    r = lambda s, c, v, axis: axis @ c / np.sqrt(axis @ s @ axis * v)

    def signed(axis, name):
        if like is not None:
            return axis if axis @ like[name] >= 0 else -axis
        r_q, r_k = r(sq, cq, vq, axis), r(sk, ck, vk, axis)
        return -axis if (r_q if abs(r_q) >= analysis_reference.SIGN_SWITCH else r_k) < 0 else axis

    v = signed(vectors[:, 0], "pc0")
    lam = v @ pool @ v
    n = {"pc0_offset": wq * wk * (v @ delta) ** 2 / lam, "pc0_pos_q": wq * (v @ cq) ** 2 / vq / lam, "pc0_pos_k": wk * (v @ ck) ** 2 / vk / lam}
    n["pc0_content"] = 1 - sum(n.values())
    ev, w = top(within)
    w = signed(w, "within")
    n |= {"within_ev": ev / np.trace(within), "within_r_q": r(sq, cq, vq, w), "within_r_k": r(sk, ck, vk, w)}
    a = wq * cq + wk * ck
    a /= np.linalg.norm(a)
    away = np.eye(len(a)) - np.outer(a, a)
    apart = 2 * within + 4 * wq * wk * np.outer(delta, delta)
    bv, b = top(away @ apart @ away)
    b = b if b @ delta >= 0 else -b
    alpha_q, alpha_k = a @ cq / vq, a @ ck / vk
    n["position_r"] = analysis_reference.correlation(np.concatenate([q @ a, k @ a]), np.concatenate([q_t, k_t]))
    n |= {"r_q_a": r(sq, cq, vq, a), "r_k_a": r(sk, ck, vk, a), "alpha_q": alpha_q, "alpha_k": alpha_k, "mu_q_a": mq @ a, "mu_k_a": mk @ a,
          "mu_q_b": mq @ b, "mu_k_b": mk @ b, "bias_strength": mq @ a * alpha_k}  # fmt: skip
    n["bias_off"] = mq @ ck / vk - n["bias_strength"]
    n["bias_context"] = scale * n["bias_strength"] * (context - 1)
    n["separation_strength"] = bv / np.trace(apart)
    n["var_frac_a"], n["var_frac_b"] = a @ pool @ a / np.trace(pool), b @ pool @ b / np.trace(pool)
    n["plane_var_fraction"] = n["var_frac_a"] + n["var_frac_b"]
    n["drift_cos"] = cq @ ck / np.linalg.norm(cq) / np.linalg.norm(ck)
    fit = lambda x, t: LinearRegression().fit(x, t).score(x, t)
    n |= {"r2_q": fit(q, q_t), "r2_k": fit(k, k_t), "r2cv_q": cross_validated(q, q_t, q_group), "r2cv_k": cross_validated(k, k_t, k_group)}
    second = sq + np.outer(mq, mq)
    beta = ck / vk
    variance = np.trace(sk @ second)
    n |= {"logit_sd": scale * np.sqrt(variance), "logit_pos_share": vk * beta @ second @ beta / variance, "logit_const": scale * mq @ mk}
    bases = {}
    for kind, mean, cov in (("q", mq, sq), ("k", mk, sk)):
        size = np.sqrt(np.diag(cov) + mean**2)
        spectrum = np.linalg.eigvalsh(cov)
        bases[kind] = np.linalg.eigh(cov)[1][:, ::-1] if like is None else like[kind]  # replicates keep the components
        n |= {f"rank90_{kind}": rank90(np.diag(bases[kind].T @ cov @ bases[kind])), f"pr_{kind}": spectrum.sum() ** 2 / (spectrum**2).sum(), f"massive_{kind}": size.max() / size.mean()}
    axis = top(second)[1] if like is None else like["filter"]  # replicates keep the direction
    n["qfilter_ev"] = axis @ second @ axis / np.trace(second)
    n["gap01"] = values[1] / values[0]
    for m in (2, 10):
        n |= {f"r2_pc{m}_q": fit(q @ vectors[:, :m], q_t), f"r2_pc{m}_k": fit(k @ vectors[:, :m], k_t)}
    n |= {"r_q_run": r(sq, cq, vq, v), "r_k_run": r(sk, ck, vk, v)}
    return n, {"pc0": v, "within": w, "a": a, "b": b, "pool": pool, "drift": wq * cq + wk * ck, "filter": axis, **bases}


def jackknife(full, replicates, sizes):
    h = sizes.sum() / sizes
    result = {}
    for key, value in full.items():
        values = np.array([one[key] for one in replicates])
        pseudo = h * value - (h - 1) * values
        centre = len(h) * value - ((1 - 1 / h) * values).sum()
        result[key] = np.sqrt(((pseudo - centre) ** 2 / (h - 1)).mean())
    return result


def small_documents(kind):
    """The vectors of tests/analysis/statistics/head_columns_test.cpp: [documents, tokens, d] of queries (kind 0) or keys (kind 1)."""
    i, t, j = np.ogrid[:5, :20, :12]
    noise = (7 * t + 13 * j + 5 * i + 3 * t * j + 4 * kind + t * t * (j + 1) + i * i * j * t) % 23 - 11
    slope = np.array([[1.0, -0.5, 0.25], [0.5, 0.75, -1.0]])[kind][j % 3]
    return noise * (1 if kind == 0 else 0.5) / (1 + j) + t * slope / (2 + j) + (3 if kind == 0 else -2) * (j == 1)


def print_columns():
    """The expected values of that test: each number of heads.csv and its standard error."""
    q, k = small_documents(0), small_documents(1)
    documents, tokens, d = q.shape

    def measure(chosen, like=None):
        t, group = np.tile(np.arange(float(tokens)), len(chosen)), np.repeat(chosen, tokens)
        return head(q[chosen].reshape(-1, d), t, group, k[chosen].reshape(-1, d), t, group, 0.5, tokens, like)

    every = np.arange(documents)
    full, axes = measure(every)
    replicates = [measure(every[every != left_out], axes) for left_out in every]
    errors = jackknife(full, [numbers for numbers, _ in replicates], np.full(documents, 2.0 * tokens))
    full["drift_stability"] = min(own["a"] @ axes["a"] for _, own in replicates)
    for key, value in full.items():
        if not key.endswith("_run"):
            print(f'    {{"{key}", {{{float(value)!r}, {float(errors[key])!r}}}}},' if key in errors else f'    {{"{key}", {{{float(value)!r}, kUndefined}}}},')


if __name__ == "__main__":
    print_columns()
