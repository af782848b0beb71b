topic timer
title Moving a date changes the firing order
slow 2
trace callouts
timer A delay=40
timer B delay=80
add A default; add B default
setfire A 130
run default 1 no
--- golden
run default
timer B mode=default
timer A mode=default
ran default FINISHED
end
