topic stop
title The endless run returns on stop
slow 2
trace callouts
timer T delay=20 interval=20
on T #3: stop
add T default
runforever
--- golden
runforever
timer T mode=default
timer T mode=default
timer T mode=default
ranforever
end
