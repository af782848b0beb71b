topic stop
title Two stops during one nested run still end only the inner run
trace callouts
timer T delay=20
source0 S
source0 K
on T: signal S; run m1 2 no; note outer-continues
on S: stop; stop
add T default; add S m1; add K default
run default 0.1 no
--- golden
run default
timer T mode=default
run m1
source0 S mode=m1
ran m1 STOPPED
note outer-continues
ran default TIMEDOUT
end
