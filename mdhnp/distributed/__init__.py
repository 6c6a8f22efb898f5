"""Several devices: Arrays distributed over them, and calls that are cut for them.

In the order in which a call passes through: `spans` (which bytes a device holds, and where elements are), `routes`
(what moves to where it is read), `placement` (which devices hold which), `exchange` (has it move), `memory` (Arrays
made of placements), `choose` (what is cut, and what room there is beside results), `machines` (what devices give, and
whether all beat the best one), `threads` (one a device), `jobs` (what each device does), `executor` (plans: the tasks
of a partition on their devices), `distribute` (the public function).
"""
