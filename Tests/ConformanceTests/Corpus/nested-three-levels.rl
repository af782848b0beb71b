topic nested
title Three levels
slow 2
trace callouts
timer T1 delay=20
timer T2 delay=20
timer T3 delay=20
on T1: run m2 1 no
on T2: run m3 1 no
on T3: mode; note deepest
add T1 m1; add T2 m2; add T3 m3
run m1 1 no
--- golden
run m1
timer T1 mode=m1
run m2
timer T2 mode=m2
run m3
timer T3 mode=m3
mode = m3
note deepest
ran m3 FINISHED
ran m2 FINISHED
ran m1 FINISHED
end
