topic timer
title Timers fire in the order of their fire dates, whatever the order of adding
slow 2
trace callouts
timer A delay=120
timer B delay=40
timer C delay=80
add A default; add B default; add C default
run default 2 no
--- golden
run default
timer B mode=default
timer C mode=default
timer A mode=default
ran default FINISHED
end
