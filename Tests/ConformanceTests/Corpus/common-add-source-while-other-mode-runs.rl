topic common
title A common item added while a private mode runs is not served there
trace callouts
timer T delay=20
source0 S
source0 K
on T: add S common; signal S
add T m1; add K m1
run m1 0.06 no
contains S m1; contains S default
run default 0.03 no
--- golden
run m1
timer T mode=m1
ran m1 TIMEDOUT
contains S m1 = no
contains S default = yes
run default
source0 S mode=default
ran default TIMEDOUT
end
