topic common
title Invalidating a common timer
timer T delay=1000 ctx
addcommon m1
add T common
invalidate T
contains T common; contains T default; contains T m1; valid T
addcommon m2
contains T m2
--- golden
retain T
release T
contains T common = no
contains T default = no
contains T m1 = no
valid T = no
contains T m2 = no
end
