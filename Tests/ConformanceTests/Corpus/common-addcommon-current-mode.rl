topic common
title Making the running mode common brings in the common items at once
trace callouts
timer T delay=20
source0 S
source0 K
on T: addcommon m1; signal S
add S common
add T m1; add K m1
run m1 0.06 no
--- golden
run m1
timer T mode=m1
source0 S mode=m1
ran m1 TIMEDOUT
end
