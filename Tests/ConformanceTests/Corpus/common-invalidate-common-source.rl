topic common
title Invalidating a common source cancels it in every mode and removes it from the common set
source0 S sched
addcommon m1
add S common
invalidate S
contains S common; contains S default; contains S m1
addcommon m2
contains S m2
--- golden
schedule S mode=default loop=A
schedule S mode=m1 loop=A
cancel S mode=default loop=A
cancel S mode=m1 loop=A
contains S common = no
contains S default = no
contains S m1 = no
contains S m2 = no
end
