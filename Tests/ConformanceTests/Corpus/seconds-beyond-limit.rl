topic seconds
title Seconds beyond about sixteen years mean no limit
trace callouts
timer T delay=40
add T default
run default 600000000 no
--- golden
run default
timer T mode=default
ran default FINISHED
end
