topic pattern
title A worker computes and hands the result to the main loop
slow 2
thread main:
source1 Result
on Result: note got-result; stop
add Result default
spawn W
run default 2 no
join W
thread W:
sleep 40
note computed
write Result
--- golden
run default
W: note computed
source1 Result mode=default
note got-result
ran default STOPPED
end
