topic nested
title The endless run inside a callback is a default-mode run of its own
slow 2
trace callouts
timer T delay=20
timer U delay=60
source0 K
on T: runforever; mode
on U: mode; stop
add T m1; add U default; add K default
run m1 1 no
--- golden
run m1
timer T mode=m1
runforever
timer U mode=default
mode = default
ranforever
mode = m1
ran m1 FINISHED
end
