topic observer
title exit is sent for a stopped run
slow 2
observer O exit
timer T delay=20 interval=20
on T: stop
add O default; add T default
run default 1 no
--- golden
run default
timer T mode=default
observer O exit mode=default
ran default STOPPED
end
