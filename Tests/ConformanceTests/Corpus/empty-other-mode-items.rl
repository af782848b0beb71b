topic empty
title Items of another mode do not count
source0 S
timer T delay=10
add S m1; add T m2
run default 1 no
run m3 1 no
modes
--- golden
run default
ran default FINISHED
run m3
ran m3 FINISHED
modes = default,m1,m2
end
