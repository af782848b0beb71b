topic pattern
title A delayed perform on a thread that never runs its loop does nothing
slow 2
timer D delay=20 ctx
thread A:
spawn B
join B
count D
thread B:
add D default
drop D
sleep 50
note leaving
--- golden
retain D
B: note leaving
B: release D
count D = 0
end
