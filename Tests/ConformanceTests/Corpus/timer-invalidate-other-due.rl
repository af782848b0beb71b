topic timer
title A due timer invalidated by an earlier one in the same pass does not fire
slow 2
trace callouts
timer A delay=10
timer B delay=20
on A: invalidate B
add A default; add B default
sleep 50
run default 1 no
--- golden
run default
timer A mode=default
ran default FINISHED
end
