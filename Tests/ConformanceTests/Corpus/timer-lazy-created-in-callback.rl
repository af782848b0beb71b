topic timer
title A timer created and added in a callback
flags timing
slow 2
trace callouts
timer A delay=60 stamp
timer B delay=100 lazy stamp
on A: create B; add B default
add A default
run default 1 no
--- golden
run default
timer A mode=default at=50
timer B mode=default at=150
ran default FINISHED
end
