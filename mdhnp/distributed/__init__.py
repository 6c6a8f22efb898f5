"""Several devices: Arrays distributed over them, and calls that are cut for them.

In the order in which a call passes through: `distribution` and `boxes` (records: who has what), `values` (arrays in
mind, of which devices hold stretches), `exchange` (what moves), `memory` (Arrays made of values), `choose` (which
dimension is cut), `machines` (what devices give, and whether all pay for ndarrays), `run` (a thread a device),
`room` (beside results, for halos), `plan` (parts and what recombines them), `made` (who computes), `distribute` (the
public function).
"""
