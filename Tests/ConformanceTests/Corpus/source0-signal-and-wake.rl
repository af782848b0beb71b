topic source0
title Signalling and waking performs at once
flags timing
slow 2
trace callouts
source0 S stamp
at 60: signal S; wake
on S: stop
add S default
run default 2 no stamp
--- golden
run default
source0 S mode=default at=50
ran default STOPPED at=50
end
