topic nested
title A nested run of an empty mode returns at once
trace callouts
timer T delay=20
on T: run m1 5 no
add T default
run default 1 no
--- golden
run default
timer T mode=default
run m1
ran m1 FINISHED
ran default FINISHED
end
