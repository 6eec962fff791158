"""Mistakes of 22_autotune with what is said of each, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

PROMISES = ("shared-memory-ignored", "key-without-k", "nothing-restored")

ROWS = "rows = max(16, triton.next_power_of_2(M))"
COLUMNS = "columns = max(16, triton.next_power_of_2(N))"


SCALED = "scaled = (x.to(tl.float32) * s).to(x.dtype)"


# Sentences that several mistakes share.
SAYS = {
    "not-restored":
        "x was multiplied by s more than once. Each config that was timed has changed x. Which argument must be put "
        "back?",
    "zeroed":
        "x is zero after the call that tunes: it was reset before the kernel read it. Restore it: `restore_value`.",
    "largest-when-none": "Nothing is left, and the largest tile came back. Keep the smallest.",
    "last-when-none": "Nothing is left, and the last config came back. Keep the first of those with the smallest tile.",
    "shared-memory-ignored": "A config that takes more than `shared_limit` bytes was kept.",
    "smallest-only":
        "The smallest tile came back, as if nothing were left. Do the rules drop too much? A pair has `(BLOCK_M + "
        "BLOCK_N) * BLOCK_K` elements, and M and N are rounded up, to 16 at least.",
    "other-order": "The configs that stay were put into another order. Keep that of the table.",
    "rows-ignored": "A tile far taller than the matrix was kept.",
    "below-sixteen": "M or N was rounded up to less than 16, so that no tile was small enough.",
    "not-rounded-up": "A tile was dropped that is the matrix's size rounded up to a power of two.",
    "too-small-ignored": "A tile of fewer than 64 rows was kept, though M is 64 or more.",
}

MUTANTS = {
    "prune": [
        Mutant("unpruned", "{fits and not too_large and not too_small -> True}", says="Every config was kept."),
        Mutant("empty", '{ or [min(configs, key=lambda c: c["BLOCK_M"] * c["BLOCK_N"])] -> }',
            says="Nothing is left. Return a list with the one config of the smallest tile instead."),
        Mutant("all-when-none", '{[min(configs, key=lambda c: c["BLOCK_M"] * c["BLOCK_N"])] -> configs}',
            says="Nothing is left, and all came back. Keep one: the config with the smallest tile."),
        Mutant("falls-back-to-the-largest", "return kept or [{min -> max}", says="largest-when-none"),
        Mutant("falls-back-to-the-last", '{[min(configs, key=lambda c: c["BLOCK_M"] * c["BLOCK_N"]) -> configs[-1:}',
            says="last-when-none"),
        Mutant("falls-back-to-the-first", '{[min(configs, key=lambda c: c["BLOCK_M"] * c["BLOCK_N"]) -> configs[:1}',
            says="largest-when-none"),
        Mutant("smallest-pair-when-none", '{c["BLOCK_M"] * c["BLOCK_N -> (c["BLOCK_M"] + c["BLOCK_N"]) * c["BLOCK_K}',
            says="Nothing is left, and the least shared memory came back. Keep the smallest `BLOCK_M * BLOCK_N`."),
        Mutant("lowest-when-none", '{ * c["BLOCK_N"] -> }',
            says="Nothing is left, and the fewest rows came back. Keep the smallest `BLOCK_M * BLOCK_N`."),
        Mutant("last-of-the-smallest", "[min(configs{ -> [::-1]}, ", says="last-when-none"),
        Mutant("a-config-for-a-list",
            '{[min(configs, key=lambda c: c["BLOCK_M"] * c["BLOCK_N"])] -> min(configs, key=lambda c: c["BLOCK_M"] '
            '* c["BLOCK_N"])}',
            seen="wrong-values"),
        Mutant("shared-memory-ignored", "if{ fits and -> } not", says="shared-memory-ignored"),
        Mutant("bytes-per-element", " {element_size -> 2} ",
            says="Shared memory was counted with 2 bytes an element. Use `element_size`: float32 has 4."),
        Mutant("elements-for-bytes", "{ * element_size -> }",
            says="Shared memory was counted in elements. An element has `element_size` bytes."),
        Mutant("stages-ignored", '{* config["num_stages"]  -> }',
            says="Shared memory was counted for one pair of tiles. There are `num_stages` pairs."),
        Mutant("one-stage-less", '{config["num_stages"] -> (config["num_stages"] - 1)}',
            says="Shared memory was counted for one pair of tiles less. Rule 1 counts `num_stages` pairs."),
        Mutant("tile-of-the-result-counted", '["BLOCK_M"] {+ -> *} ', says="smallest-only"),
        Mutant("one-tile-of-the-pair", '{(config["BLOCK_M"] + config["BLOCK_N"]) -> config["BLOCK_M"]} *',
            says="The tile of A alone was counted. A pair has a tile of B too, BLOCK_K x BLOCK_N."),
        Mutant("tile-of-the-result-added", 'BLOCK_K"]{ ->  + config["BLOCK_M"] * config["BLOCK_N"]}\n',
            says="The tile of the result was counted too. It stays in registers: shared memory holds pairs of A and B."),
        Mutant("limit-of-one-gpu", "= {shared_limit -> 232448}", says="shared-memory-ignored"),
        Mutant("no-room-at-the-limit", " <{= -> } shared_limit",
            says="A config that takes exactly `shared_limit` bytes was dropped. It fits."),
        Mutant("rows-ignored", '{config["BLOCK_M"] > rows or  -> }', says="rows-ignored"),
        Mutant("columns-ignored", '{ or config["BLOCK_N"] > columns -> }',
            says="A tile far wider than the matrix was kept."),
        Mutant("both-must-be-too-large", 'BLOCK_M"] > rows {or -> and} ', says="rows-ignored"),
        Mutant("rows-for-columns", "next_power_of_2({M -> N})", "columns = max(16, triton.next_power_of_2({N -> M}))",
            says="`BLOCK_M` was compared with N, and `BLOCK_N` with M."),
        Mutant("at-most-sixteen", "rows = {max -> min}(16", "columns = {max -> min}(16", says="smallest-only"),
        Mutant("rows-below-sixteen", "{max(16, triton.next_power_of_2(M) -> triton.next_power_of_2(M}",
            says="below-sixteen", seen="wrong-values"),
        Mutant("nothing-below-sixteen-is-rounded", "{max(16, triton.next_power_of_2(M) -> triton.next_power_of_2(M}",
            "{max(16, triton.next_power_of_2(N) -> triton.next_power_of_2(N}", says="below-sixteen"),
        Mutant("not-rounded-up", "{triton.next_power_of_2(M) -> M}", "{triton.next_power_of_2(N) -> N}",
            says="not-rounded-up"),
        Mutant("tile-as-large-as-the-matrix-dropped", 'BLOCK_M"] >{ -> =} rows', says="not-rounded-up",
            seen="wrong-values"),
        Mutant("small-tiles-kept", "{ and not too_small -> }", says="too-small-ignored"),
        Mutant("too-small-for-all", 'BLOCK_M"] < 64{ <= M -> }',
            says="Every tile of fewer than 64 rows was dropped. It is too small only where M is 64 or more."),
        Mutant("small-from-65-rows-on", 'BLOCK_M"] < 64 <{= -> } M', says="too-small-ignored"),
        Mutant("too-small-for-m-rounded-up", 'BLOCK_M"] < 64 <= {M -> rows}',
            says="A tile of fewer than 64 rows was dropped, though M is less. Rule 3 asks for M itself, not rounded "
                "up."),
        Mutant("sixty-four-is-too-small", 'BLOCK_M"] <{ -> =} 64',
            says="A tile of 64 rows was dropped. Too small is a `BLOCK_M` below 64."),
        Mutant("too-narrow", 'BLOCK_M"] < 64 <= M{ ->  or config["BLOCK_N"] < 64 <= N}',
            says="A tile of fewer than 64 columns was dropped. Rule 3 is about rows alone."),
        Mutant("small-tiles-by-columns", '{BLOCK_M"] < 64 <= M -> BLOCK_N"] < 64 <= N}', seen="wrong-values"),
        Mutant("other-order", "kept.{append( -> insert(0, }config", seen="wrong-values"),
        Mutant("removed-while-walking", "kept = {[] -> list(configs)}", "config in {configs -> kept}:",
            "{fits and … append -> not (fits and not too_large and not too_small):\n"
            "            kept.remove}",
            says="Configs that should go are still there: the loop removes from the list that it walks through, and so "
                "passes over the next. Append what stays to a new list."),
        Mutant("changes-the-table", "config in {configs: -> list(configs):\n        configs.remove(config)}",
            seen="raised"),
        Mutant("returned-in-the-loop", "{    return kept or [ ->         return kept or [}",
            says="`return` stands in the loop, so the first config alone was looked at."),
        Mutant("smallest-first", 'return {kept -> sorted(kept, key=lambda c: c["BLOCK_M"] * c["BLOCK_N"])} or', says="other-order"),
        Mutant("first-only", "{kept.append(config) -> return [config]}", seen="wrong-values"),
        Mutant("nothing-kept", "{fits and not too_large and not too_small -> False}", says="smallest-only"),
        Mutant("only-what-is-hopeless",
            "{fits and not too_large and not too_small -> not (fits and not too_large and not too_small)}",
            says="What should be dropped was kept, and the other way round."),
        Mutant("columns-below-sixteen", "{max(16, triton.next_power_of_2(N) -> triton.next_power_of_2(N}",
            says="below-sixteen"),
        Mutant("no-return", '{return kept … BLOCK_N"])] -> kept or configs}', seen="wrong-type"),
    ],
    "matmul_tuned": [
        Mutant("key-without-k", '["M", "N"{, "K" -> }', seen="property"),
        Mutant("key-without-n", 'key=["M", "{N", " -> }', seen="property"),
        Mutant("key-of-k", 'key=["{M", "N", " -> }', seen="property"),
        Mutant("empty-key", '[{"M", "N", "K" -> }', seen="property"),
        Mutant("key-in-small-letters", '=["{M", "N", "K -> m", "n", "k}', seen="property"),
        Mutant("key-with-a-name-that-is-none", '"M", "N", "K"{ -> , "dtype"}]', seen="property"),
        Mutant("key-with-a-pointer", '"M", "N", "K"{ -> , "a_ptr"}]', seen="property"),
        Mutant("key-with-the-results-pointer", '"M", "N", "K"{ -> , "c_ptr"}]', seen="property"),
        Mutant("key-of-pointers", '=["{M", "N", "K -> a_ptr", "b_ptr}', seen="property"),
        Mutant("key-with-a-block", '"M", "N", "K"{ -> , "BLOCK_M"}]', seen="property"),
        Mutant("needless-restore", 'key=["M", "N", "K"],{ -> restore_value=["c_ptr"],}', seen="property"),
        Mutant("needless-reset", 'key=["M", "N", "K"],{ -> reset_to_zero=["c_ptr"],}', seen="property"),
        Mutant("configs-in-a-list", "configs={CONFIGS -> [CONFIGS]}", seen="raised"),
        Mutant("a-new-tuner-each-time", "{@functools.cache\n -> }", seen="property"),
        Mutant("a-new-tuner-in-the-wrapper",
            '{return launch(tuned_kernel(), a, b) -> tune = triton.autotune(configs=CONFIGS, key=["M", "N", "K"], '
            'prune_configs_by={"early_config_prune": early_prune})\n'
            "    return launch(tune(matmul_tiles_kernel), a, b)}", seen="property"),
        Mutant("never-pruned", ('        prune_configs_by={"early_config_prune": early_prune},\n', ""), seen="property"),
        Mutant("one-config", "configs=CONFIGS{ -> [4:5]},", seen="property"),
        Mutant("not-tuned-at-all", "{tuned_kernel(), a, b -> matmul_tiles_kernel, a, b, **CONFIGS[4].all_kwargs()}",
            seen="property"),
        Mutant("pruning-is-called", '": early_prune{ -> ()}', seen="raised"),
        Mutant("prune-for-early-prune", '": {early_prune -> prune}', seen="raised"),
        Mutant("tiles-for-configs", "configs={CONFIGS -> TILES}", seen="raised"),
        Mutant("no-kernel-in-the-tuner", "{(matmul_tiles_kernel) -> }", seen="raised"),
        Mutant("nothing-returned", "{return  -> }tune(matmul_tiles_kernel", seen="raised"),
        Mutant("the-plain-kernel", "{tune(matmul_tiles_kernel) -> matmul_tiles_kernel}",
            seen=("raised", "does-not-compile")),
        Mutant("config-passed-too", "GROUP_M=16, { -> BLOCK_M=64, }**", seen="raised"),
        Mutant("any-sizes", "{shape[1] != b.shape[0] -> ndim != b.ndim}", seen="should-raise"),
        Mutant("torch-stand-in", "{launch(tuned_kernel(), a, b) -> a @ b}", seen="no-kernel-launched"),
    ],
    "scale_inplace_tuned": [
        Mutant("in-half-precision", "{(x.to(tl.float32) * s) -> x * s}",
            says="The product was taken in half precision, where s is rounded first. Go to float32."),
        Mutant("nothing-restored", '{, restore_value=["x_ptr"] -> }', says="not-restored", on_gpu=("nan",)),
        Mutant("reset-for-restored", " {restore_value -> reset_to_zero}", seen="zeroed"),
        Mutant("both-restored-and-reset", 'restore_value=["x_ptr"]{ -> , reset_to_zero=["x_ptr"]})', says="zeroed"),
        Mutant("restores-another-name", 'restore_value=["{x_ptr -> x}', seen="raised"),
        Mutant("restores-the-factor", 'restore_value=["{x_ptr -> s}', seen="raised"),
        Mutant("empty-key", '=[{"n_elements" -> }', seen="property"),
        Mutant("key-of-a-name-that-is-none", 'key=["{n_elements -> N}', seen="property"),
        Mutant("key-of-the-tensor", 'key=["{n_elements -> x_ptr}', seen="property"),
        Mutant("key-with-the-factor", '["n_elements"{ -> , "s"}]', seen="property"),
        Mutant("a-copy-is-scaled",
            "{tuned_scale_kernel()[grid](x, s, n_elements, x.stride(0))\n    return x -> y = x.clone()\n"
            "    tuned_scale_kernel()[grid](y, s, n_elements, y.stride(0))\n    return y}",
            seen=("other-tensor", "torch-compute")),
        Mutant("key-of-the-stride", 'key=["{n_elements -> stride_xn}', seen="property"),
        Mutant("a-new-tuner-each-time", "{@functools.cache\n -> }", seen="property"),
        Mutant("one-config", "configs=sizes{ -> [:1]},", seen="property"),
        Mutant("not-stored", "stride_xn, {scaled -> x},", says="x has not changed.",
            seen=("not-attempted", "unwritten")),
        Mutant("squared", ".float32) * { -> x * }s)", seen="off-by-an-input"),
        Mutant("added", "tl.float32) {* -> +} s", says="s was added. x has to be multiplied by s."),
        Mutant("no-store-mask", "scaled{, mask=mask -> }", seen="out-of-bounds-store"),
        Mutant("no-load-mask", "stride_xn, {mask=mask -> })", seen="reads-outside", only="interpreter"),
        Mutant("stride-forgotten", "+ offs{ * stride_xn -> }, mask", "offs{ * stride_xn -> }",
            seen=("strided-only", "reads-outside", "out-of-bounds-store", "not-restored")),
        Mutant("passed-twice", ", x.stride(0){ -> , BLOCK_SIZE=1024})", seen="raised"),
        Mutant("grid-of-one-config", '{meta["BLOCK_SIZE"] -> 4096}', seen="other-programs"),
        Mutant("grid-of-strides", "cdiv(n_elements{ ->  * x.stride(0)}, meta", seen="other-programs"),
        Mutant("grid-of-another-config", '{meta["BLOCK_SIZE"] -> 1024}', seen="other-programs"),
        Mutant("grid-of-the-smallest-tile", '{meta["BLOCK_SIZE"] -> 256}', seen="other-programs"),
        Mutant("grid-rounds-down", '{triton.cdiv(n_elements, meta["BLOCK_SIZE"]) -> n_elements // meta["BLOCK_SIZE"]}',
            seen="other-programs"),
        Mutant("grid-is-no-tuple",
            '{(triton.cdiv(n_elements, meta["BLOCK_SIZE"]), -> triton.cdiv(n_elements, meta["BLOCK_SIZE"]}',
            seen="raised"),
        Mutant("grid-by-attribute", '{["BLOCK_SIZE"] -> .BLOCK_SIZE}', seen="raised"),
        Mutant("grid-by-a-name-that-is-none", 'meta["{BLOCK_SIZE -> BLOCK}"', seen="raised"),
        Mutant("tiles-overlap", " * {BLOCK_SIZE -> (BLOCK_SIZE // 2)} ",
            seen=("wrong-tail", "race", "wrong-values", "not-restored"), on_gpu=("nan",)),
        Mutant("multiplied-by-torch", "return x{ -> .mul_(1)}", seen="torch-compute"),
        Mutant("takes-a-matrix", "if x.ndim {!= 1 -> > 2}", seen="should-raise"),
    ],
}

VARIANTS = {
    "prune": [
        Variant("three-ifs", "{fits and not too_large and -> not fits or too_large:\n            continue\n        if}"),
        Variant("sorted-fallback",
            '{[min(configs, key=lambda c: c["BLOCK_M"] * c["BLOCK_N"]) -> sorted(configs, key=lambda c: '
            'c["BLOCK_M"] * c["BLOCK_N"])[:1}'),
        Variant("powers-by-bit-length", "{triton.next_power_of_2(M -> 1 << (M - 1).bit_length(}"),
        Variant("both-conditions-written-out", '{config["BLOCK_M"] < 64 <= M -> M >= 64 and config["BLOCK_M"] < 64}'),
    ],
    "matmul_tuned": [
        Variant("rounded-up-by-hand", "{triton.cdiv(M, -> -(-M //}"),
        Variant("key-with-strides", '"M", "N", "K"{ -> , "stride_ak", "stride_bn"}]'),
        Variant("pruned-by-a-lambda", '": {early_prune -> lambda table, named, **more: early_prune(table, named)}'),
        Variant("short-table", "configs=CONFIGS{ -> [2:]},"),
        Variant("in-one-step", "{tune = -> return} triton.", "{\n    return tune -> }"),
        Variant("groups-of-8", "(), GROUP_M={16 -> 8}"),
    ],
    "scale_inplace_tuned": [
        Variant("other-order", "{x.to(tl.float32) * s -> s * x.to(tl.float32)}"),
        Variant("float32-by-s", "{(x.to(tl.float32) * s).to(x.dtype) -> x * s}"),
        Variant("masked-lanes-read-zero", "stride_xn, mask=mask{ -> , other=0.0})"),
        Variant("key-with-the-stride", '["n_elements"{ -> , "stride_xn"}]'),
        Variant("cast-by-the-store", "{(x.to(tl.float32) * s).to(x.dtype) -> x.to(tl.float32) * s}"),
    ],
}

POWERS = "no side of a tile lies between 16 and 17"
EQUIVALENT = {
    "prune": {
        f"{ROWS} => rows = max(17, triton.next_power_of_2(M))": POWERS,
        f"{COLUMNS} => columns = max(17, triton.next_power_of_2(N))": POWERS,
    },
    "scale_inplace_tuned": {
        f"{SCALED} => scaled = x.to(tl.float32) * s": "a store rounds by itself",
        f"{SCALED} => scaled = (x * s).to(x.dtype)": "s is float32, so the product is",
    },
}
