topic pattern
title ... and one that is not
trace callouts
timer Timeout delay=80
source1 Reply
on Timeout: note timed-out; stop
on Reply: note replied; stop
add Timeout default; add Reply default
run default 2 no
--- golden
run default
timer Timeout mode=default
note timed-out
ran default STOPPED
end
