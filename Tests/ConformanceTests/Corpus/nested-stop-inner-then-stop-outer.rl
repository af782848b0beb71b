topic nested
title The callback that got STOPPED from the inner run stops the outer too
trace callouts
timer T delay=20
source0 S
on T: signal S; run m1 2 no; stop
on S: stop
add T default; add S m1; add S default
run default 2 no
--- golden
run default
timer T mode=default
run m1
source0 S mode=m1
ran m1 STOPPED
ran default STOPPED
end
