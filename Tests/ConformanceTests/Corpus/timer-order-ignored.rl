topic timer
title The order number of timers is ignored: the fire date decides
slow 2
trace callouts
timer A delay=30 order=-10
timer B delay=10 order=10
add A default; add B default
order A; order B
sleep 60
run default 1 no
--- golden
order A = -10
order B = 10
run default
timer B mode=default
timer A mode=default
ran default FINISHED
end
