topic common
title A one-shot common timer leaves all modes when it fired
trace callouts
timer T delay=30
addcommon m1
add T common
run m1 2 no
contains T common; contains T default; contains T m1; valid T
run default 1 no
--- golden
run m1
timer T mode=m1
ran m1 FINISHED
contains T common = no
contains T default = no
contains T m1 = no
valid T = no
run default
ran default FINISHED
end
